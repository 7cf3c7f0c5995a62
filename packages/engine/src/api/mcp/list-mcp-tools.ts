import type { McpBench, McpTool } from './contract.ts';
import { answerTool, applyTool, cancelTool } from './decide-tools.ts';
import { dispatchTool } from './dispatch-tool.ts';
import { boardTool, listTool } from './project-tools.ts';
import { diffTool, statusTool, waitTool } from './run-tools.ts';

/** The tools that the bounds leave. A client without a tool cannot call it. */
export function listMcpTools(bench: McpBench): readonly McpTool[] {
  const reading = [statusTool(bench), waitTool(bench), diffTool(bench), listTool(bench), boardTool(bench)];
  const { scopes } = bench.bounds;
  return [
    ...(scopes.includes('run') ? [dispatchTool(bench), cancelTool(bench)] : []),
    ...reading,
    ...(scopes.includes('decide') ? [applyTool(bench), answerTool(bench)] : []),
  ];
}
