/**
 * The life of a case.
 *   run ──► fault ──► end of the command ──► cause lifted ──► next command (with its own fault) ──► invariants
 * C1  Everything after the fault is done by the product: the next command, and nothing else, puts things right.
 * C2  A command that a fault hit may fail; the one after it, which no fault hits, may not.
 * C3  A command always ends by itself once the cause is lifted; only one that a lasting fault blocks is killed.
 */
import type { CliRun } from '../../e2e/open-project.ts';
import type { Command, Fault, Findings, Outcome, Running, Scenario, Stage } from './contract.ts';
import { checkAll } from './invariants/check-all.ts';
import { look } from './phases.ts';
import { caissonCommand, killQuietly, openStage, runCommand } from './stage.ts';

const END_LIMIT_MS = 120_000;
/** For a command that a lasting fault may block: enough to fail by itself. */
const BLOCKED_LIMIT_MS = 8000;

export async function runScenario(scenario: Scenario): Promise<Findings> {
  const stage = await openStage(scenario.setting);
  try {
    return await play(stage, scenario);
  } finally {
    await stage.close();
  }
}

async function play(stage: Stage, { setting, faults, recoveryFaults = [] }: Scenario): Promise<Findings> {
  const violations: string[] = [];
  const commands = Array.from({ length: setting.runs }, () => wrapAll(runCommand(stage), faults, stage));
  const first = await runUnder(stage, commands, faults);
  violations.push(...first.violations);
  const commandsAfter = recoveryFaults.length === 0 ? [] : [caissonCommand(stage, 'runs')];
  const after = await runUnder(
    stage,
    commandsAfter.map((command) => wrapAll(command, recoveryFaults, stage)),
    recoveryFaults,
  );
  violations.push(...after.violations);
  const next = await stage.caisson('runs', '-o', 'json'); // C1
  const outcome = outcomeOf(stage); // before the invariants start runs of their own
  if (next.code !== 0) violations.push(`next-command: exit ${next.code}: ${next.stdout}${next.stderr}`); // C2
  else violations.push(...(await checkAll({ stage, cli: first.cli, losesUnsynced: faults.some(isLossy) })));
  const context = violations.length === 0 ? [] : describeContext(stage, [...first.cli, ...after.cli, next]);
  const [struck, missed] = [first.struck + after.struck, first.missed + after.missed];
  return { outcome, struck, missed, violations, context };
}

/** The product's own output, for the analysis of a violation. */
function describeContext(stage: Stage, cli: readonly CliRun[]): string[] {
  const reported = cli.map(
    ({ code, stderr }) => `exit ${code}: ${stderr.trim().split('\n').slice(-4).join(' | ')}`,
  );
  try {
    const warnings = stage.ledger().read({ types: ['warning', 'dispatch.failed'] });
    return [
      ...reported,
      ...warnings.map(({ type, data }) => `${type}: ${JSON.stringify(data).slice(0, 600)}`),
    ];
  } catch {
    return reported; // the ledger cannot be read; an invariant has said so
  }
}

function wrapAll(command: Command, faults: readonly Fault[], stage: Stage): Command {
  return faults.reduce((wrapped, fault) => fault.wrap?.(wrapped, stage) ?? wrapped, command);
}

interface Ran {
  readonly cli: readonly CliRun[];
  readonly struck: number;
  readonly missed: number;
  readonly violations: readonly string[];
}

/** Starts the commands, injects every fault, waits for the end and removes the causes. */
async function runUnder(stage: Stage, commands: readonly Command[], faults: readonly Fault[]): Promise<Ran> {
  const running = commands.map((command) => stage.start(command));
  const struck = await Promise.all(faults.map(async (fault) => fault.strike?.(stage, running) ?? null));
  if (stage.setting.isEndless) endHosts(running); // an agent without a fault would never end
  const isBlocked = faults.some((fault) => fault.blocksCommand === true);
  const isOver = await endWithin(running, isBlocked ? BLOCKED_LIMIT_MS : END_LIMIT_MS);
  if (!isOver) endHosts(running);
  const cli = await Promise.all(running.map(({ ended }) => ended));
  for (const fault of faults) await fault.lift?.(stage);
  const hits = faults.filter((fault, index) => fault.hasStruck?.() ?? struck[index] ?? false).length;
  const hung = isOver || isBlocked ? [] : [`ends: the command hung for ${END_LIMIT_MS} ms`]; // C3
  return { cli, struck: hits, missed: faults.length - hits, violations: hung };
}

async function endWithin(running: readonly Running[], limitMs: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), limitMs);
  const all = Promise.all(running.map(({ ended }) => ended)).then(() => true as const);
  const isOver = await Promise.race([all, late.promise]);
  clearTimeout(timer);
  return isOver;
}

function endHosts(running: readonly Running[]): void {
  for (const { pid, isOver } of running) if (!isOver()) killQuietly(pid);
}

function isLossy(fault: Fault): boolean {
  return fault.losesUnsynced === true;
}

function outcomeOf(stage: Stage): Outcome {
  try {
    look(stage);
    const statuses = stage
      .ledger()
      .runs()
      .map((row) => row.status);
    if (statuses.length === 0) return 'refused';
    if (statuses.includes('interrupted')) return 'interrupted';
    return statuses.every((status) => status === 'done') ? 'done' : 'failed';
  } catch {
    return 'refused'; // the ledger cannot be read; an invariant has said so
  }
}
