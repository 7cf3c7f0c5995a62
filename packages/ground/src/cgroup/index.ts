export type { Cgroup, CgroupEvents, CgroupLimits, CgroupProbe, CgroupRequest } from './contract.ts';
export { createCgroup, probeCgroups } from './create.ts';
export { findCgroup } from './find.ts';
export { listOwnCgroups, type OwnGroup } from './left-groups.ts';
export { reopenCgroup, type ReopenedCgroup } from './reopen.ts';
