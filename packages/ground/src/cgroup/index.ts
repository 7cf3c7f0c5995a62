export type { Cgroup, CgroupEvents, CgroupLimits, CgroupProbe, CgroupRequest } from './contract.ts';
export { createCgroup, probeCgroups } from './create.ts';
