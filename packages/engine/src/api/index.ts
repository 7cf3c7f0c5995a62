export type * from './contract.ts';
export { createAttachments } from './attachments.ts';
export { createApi } from './create-api.ts';
export { isDaemonLoss } from './problems.ts';
export { createRemoteCaisson } from './remote-caisson.ts';
export { connectSocket } from './socket-connection.ts';
