/**
 * The options of `run` as keys of `caisson.yaml`, for what starts a run by itself. One list: a schedule has all of them, and a
 * test compares it with the options of the command line.
 */
import * as z from 'zod/mini';
import {
  count,
  Duration,
  list,
  Memory,
  money,
  optional,
  SecretRef,
  text,
  tokens,
  variables,
} from './config-values.ts';
import { REQUEST_FIELDS } from './dispatch-request.ts';
import { HostRule, Mode, SandboxKind } from './grant.ts';
import { ScriptLens } from './pipeline.ts';

const { workspace, outsideScope, overflow } = REQUEST_FIELDS;
const texts = () => list(text());

/** By the option of `run` that each is. */
export const RUN_CONFIG = {
  agent: optional('ask', text(128), 'See run --agent.'),
  runtime: optional('ask', text(128), 'See run --runtime.'),
  model: optional('ask', text(256), 'See run --model.'),
  mode: optional('may-lower', Mode, 'See run --mode.'),
  sandbox: optional('ask', SandboxKind, 'See run --sandbox.'),
  workspace: optional('ask', workspace.schema, 'See run --workspace.'),
  bring: optional('ask', texts(), 'See run --bring.'),
  repo: optional('ask', text(), 'See run --repo.'),
  base: optional('ask', text(), 'See run --base.'),
  timeout: optional('may-lower', Duration, 'See run --timeout.'),
  stallTimeout: optional('may-lower', Duration, 'See run --stall-timeout.'),
  budgetUsd: optional('may-lower', money(), 'See run --budget.'),
  maxTokens: optional('may-lower', tokens(), 'See run --max-tokens.'),
  maxTurns: optional('may-lower', tokens(), 'See run --max-turns.'),
  maxToolCalls: optional('may-lower', tokens(), 'See run --max-tool-calls.'),
  memory: optional('may-lower', Memory, 'See run --memory.'),
  cpus: optional('may-lower', z.number().check(z.gt(0), z.lte(4096)), 'See run --cpus.'),
  pids: optional('may-lower', count(1, 4_194_304), 'See run --pids.'),
  network: optional('ask', z.enum(['none', 'full']), 'See run --network none and --network full.'),
  hosts: optional('ask', list(HostRule), 'See run --network hosts=.'),
  verify: optional('ask', text(65_536), 'See run --verify.'),
  verifyLens: optional('ask', ScriptLens, 'See run --verify-lens.'),
  capabilities: optional('ask', texts(), 'See run --capability.'),
  env: optional('ask', variables(), 'See run --env.'),
  envBundles: optional('ask', texts(), 'See run --env-bundle.'),
  secrets: optional('ask', z.record(z.string(), SecretRef), 'See run --secret.'),
  pipeline: optional('ask', text(128), 'See run --pipeline.'),
  inputs: optional('ask', z.record(z.string(), text()), 'See run --input. Paths are relative to this file.'),
  scope: optional('ask', texts(), 'See run --scope.'),
  outsideScope: optional('ask', outsideScope.schema, 'See run --outside-scope.'),
  acceptance: optional('ask', text(65_536), 'See run --accept.'),
  branch: optional('ask', text(), 'See run --branch.'),
  push: optional('ask', z.boolean(), 'See run --push.'),
  gitToken: optional('ask', SecretRef, 'See run --git-token.'),
  priority: optional('harmless', count(1, 10), 'See run --priority.'),
  retries: optional('may-lower', count(0, 100), 'See run --retries.'),
  tools: optional('ask', texts(), 'See run --tool.'),
  session: optional('ask', text(128), 'See run --session.'),
  overflow: optional('harmless', overflow.schema, 'See run --overflow.'),
  allowRisky: optional('ask', z.boolean(), 'See run --allow-risky.'),
  callbacks: optional('ask', texts(), 'See run --callback.'),
};

/** Options of `run` that are no keys, and why. */
export const NOT_IN_RUN_CONFIG: Readonly<Record<string, string>> = {
  apply: 'nobody looks at your files while it runs; use branch, or caisson apply afterwards',
  login: 'a person agrees to it: caisson run --login, once',
  idempotencyKey: 'each time of the schedule is its own key',
  verifyReportOnly: 'there is no exit code; caisson runs shows the check',
  detach: 'the daemon runs it',
  interactive: 'there is no terminal',
  quiet: 'there is no terminal',
  verbose: 'there is no terminal',
};
