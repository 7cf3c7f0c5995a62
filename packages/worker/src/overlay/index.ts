export { findLaidSkills } from './laid-skills.ts';
export { layCapabilities, type SetupScript } from './lay-capabilities.ts';
