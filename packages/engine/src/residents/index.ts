export type * from './contract.ts';
export { createResidents, type ResidentsOptions } from './create-residents.ts';
export { guardSecrets } from './guard-secrets.ts';
export { residentPaths } from './resident-paths.ts';
export { createResidentStarter, type ResidentStarterOptions } from './start-resident.ts';
export { showThread } from './thread-history.ts';
export { createThreads } from './threads.ts';
