export { findCapabilitySkills } from './capability-skills.ts';
export { copyCapabilities, type SetupScript } from './copy-capabilities.ts';
