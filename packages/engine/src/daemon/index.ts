export type * from './contract.ts';
export { askForFace, askMetrics, askStatus, askToEndFace, askToReload, askToStop } from './ask-daemon.ts';
export {
  actOfControl,
  CONTROL_PATHS,
  createControlRoutes,
  createFaceRoutes,
  FACE_PATH,
  type ControlRoutes,
} from './control-routes.ts';
export { openDaemonSocket, SOCKET_NAME, type DaemonSocket } from './daemon-socket.ts';
export {
  DaemonNotReplacedError,
  DaemonRunsError,
  OtherProjectError,
  DaemonSilentError,
  DaemonStartError,
  DaemonStoppingError,
  describeDaemon,
  LedgerInUseError,
  NoDaemonError,
  OtherDaemonError,
  type SaidRuns,
} from './errors.ts';
export { createGate, type Gate } from './gate.ts';
export {
  findLeaseHolder,
  findLivingDaemon,
  isProcessOf,
  hasLease,
  identifyDaemon,
  LEASE_ROW,
  releaseLease,
  takeLease,
  type LeaseRooms,
} from './lease.ts';
export { createLife, type LifeOptions } from './life.ts';
export {
  createSchedules,
  listSchedules,
  type FiredSlot,
  type Schedule,
  type Schedules,
} from './schedules.ts';
export { startSystemdNotifier, type SystemdNotifier } from './notify-systemd.ts';
export { startTimers, type TimedTask } from './timers.ts';
export { formatUnit } from './unit-file.ts';
