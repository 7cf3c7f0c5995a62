export type * from './contract.ts';
export { createAttachments } from './attachments.ts';
export { createApi } from './create-api.ts';
export type { OperationName } from './operations.ts';
export { sendProblem } from './send-problem.ts';
export { loadMcpSessions, serveMcp, type McpServing } from './mcp/load-mcp.ts';
export {
  MCP_SCOPES,
  type McpBounds,
  type McpProject,
  type McpScope,
  type McpSessions,
} from './mcp/contract.ts';
export { InputInvalidError, isDaemonLoss } from './problems.ts';
export { createRemoteCaisson } from './remote-caisson.ts';
export { CLIENT_HEADER, connectSocket } from './socket-connection.ts';
export { withProblems } from './with-problems.ts';
export { PLAIN_MEMBERS } from './plain-members.ts';
