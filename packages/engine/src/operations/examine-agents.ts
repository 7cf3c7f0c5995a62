/** What a run of each agent program would do now, as findings of the doctor. Admission decides; nothing is started. */
import { probeCgroups } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import { previewRun, type Refusal, type RunPreview } from '../admission/index.ts';
import { bundlePath } from '../composition/bundle-path.ts';
import { createDispatchSettings } from '../composition/dispatch-settings.ts';
import { findNoSandbox } from '../composition/probe-sandbox-here.ts';
import { readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import { discoverRuntimes, type DiscoveredRuntime, type ProbeReport } from '../discovery/index.ts';
import { createRuntimeNames } from '../registry/index.ts';
import { createSecrets } from '../secrets/index.ts';

/** A finding about one runtime. */
export interface AgentReport extends ProbeReport {
  readonly agent: AgentOutlook;
}

/** What a run with this runtime would use; without `grant`, admission refuses before it gets that far. */
export interface AgentOutlook extends Partial<Pick<RunPreview, 'uses' | 'model' | 'grant' | 'unenforced'>> {
  readonly runtime: string;
  /** A run that names no runtime uses this one. */
  readonly isDefault: boolean;
  readonly path: string | null;
  readonly version: string | null;
  readonly fit: DiscoveredRuntime['fit'];
  /** Null: the program connects by itself. */
  readonly endpoint?: string | null;
  /** Which layer decides a single tool call. */
  readonly perCall?: string;
  /** Why a run would be refused, in the words of the refusal; null if it would not. */
  readonly refusal: Pick<Refusal, 'check' | 'detail' | 'remedy'> | null;
}

/** One finding about a run that names no runtime, then one for each runtime that is here or that the settings name. */
export interface ExaminedAgents {
  readonly usual: ProbeReport & { readonly refusal: AgentOutlook['refusal'] };
  readonly agents: readonly AgentReport[];
}

export async function examineAgents(config: ResolvedConfig, cwd: string): Promise<ExaminedAgents> {
  const env = readHostEnvironment();
  const { projectRoot, folders, runtimes } = config;
  const discovered = await discoverRuntimes({ env, home: folders.home, runtimes, projectRoot });
  const rooms = openPreviewRooms(config, env, cwd);
  const usual = await previewRun(rooms, {});
  const usualName = 'runtime' in usual ? usual.runtime.name : null;
  const shown = discovered.filter((found) => isShown(config, found, usualName));
  const agents = await Promise.all(
    shown.map(async (found) =>
      reportAgent(found, await previewRun(rooms, { runtime: found.name }), found.name === usualName),
    ),
  );
  const refusal = usual.refusal === null ? null : describeRefusal(usual.refusal);
  return { usual: { ...reportUsual(config, usual, agents), refusal }, agents };
}

/** Where `discovery` finds a program, or a person named the runtime. */
function isShown(
  { runtime, runtimes }: ResolvedConfig,
  found: DiscoveredRuntime,
  usual: string | null,
): boolean {
  if (found.name === 'command') return false;
  return found.path !== null || Object.hasOwn(runtimes, found.name) || [runtime, usual].includes(found.name);
}

function openPreviewRooms(config: ResolvedConfig, env: ReturnType<typeof readHostEnvironment>, cwd: string) {
  const settings = createDispatchSettings(config, env, cwd);
  const { node } = settings;
  const nativeAgent = bundlePath('native-agent.mjs');
  const { home } = config.folders;
  return {
    settings,
    names: createRuntimeNames({ config, env, node, nativeAgent }),
    secrets: createSecrets({ env, home, base: config.projectRoot }),
    probeSandbox: once(findNoSandbox),
    probeLimits: once(async () => {
      const { memory, cpus, pids, why } = await probeCgroups();
      return { enforced: { memory, cpus, pids }, why };
    }),
  };
}

type Preview = Awaited<ReturnType<typeof previewRun>>;

function reportUsual(
  { trust }: Pick<ResolvedConfig, 'trust'>,
  usual: Preview,
  agents: readonly AgentReport[],
): ProbeReport {
  const { refusal } = usual;
  if (refusal === null && 'runtime' in usual) {
    const starts = `starts ${usual.runtime.name}`;
    if (trust.kind !== 'required')
      return { id: 'agents', verdict: 'ok', detail: `caisson run "…" ${starts}` };
    const detail = `caisson run "…" is refused until you agree to what the project asks for; without that it ${starts}`;
    return { id: 'agents', verdict: 'warn', detail, remedy: 'caisson trust shows it, and asks you.' };
  }
  const ready = agents.filter(({ agent }) => agent.refusal === null).map(({ agent }) => agent.runtime);
  const others = ready.length === 0 ? '' : `; ready with --runtime: ${ready.join(', ')}`;
  const remedy =
    agents.length === 0
      ? 'Install one, for example npm install -g @openai/codex; caisson runtimes lists them all.'
      : 'runtime' in usual
        ? `The line of runtime-${usual.runtime.name} says how to fix it.`
        : (refusal?.remedy ?? 'caisson runtimes lists them all.');
  const detail = `caisson run "…" is refused: ${refusal?.detail ?? ''}${others}`;
  return { id: 'agents', verdict: 'warn', detail, remedy };
}

function reportAgent(found: DiscoveredRuntime, preview: Preview, isDefault: boolean): AgentReport {
  const { name, path, version, fit, problem } = found;
  const { refusal } = preview;
  const agent: AgentOutlook = {
    runtime: name,
    isDefault,
    path,
    version,
    fit,
    ...('runtime' in preview ? describePreview(preview) : {}),
    refusal: refusal === null ? null : describeRefusal(refusal),
  };
  const id = `runtime-${name}`;
  const detail = describeProgram(found);
  if (refusal !== null)
    return {
      id,
      verdict: 'warn',
      detail: `${detail}; a run is refused: ${refusal.detail}`,
      remedy: refusal.remedy ?? 'caisson runtimes shows what each runtime can do.',
      agent,
    };
  if (problem !== null && path !== null)
    return {
      id,
      verdict: 'warn',
      detail,
      remedy: `Install it again outside the project, or set runtimes.${name}.bin.`,
      agent,
    };
  return { id, verdict: 'ok', detail, agent };
}

function describePreview({ runtime, uses, model, mode, grant, unenforced }: RunPreview) {
  const { endpoint } = runtime;
  return { uses, model, grant, unenforced, endpoint, ...definedOnly({ perCall: mode?.perCall }) };
}

const describeRefusal = ({ check, detail, remedy }: Refusal): AgentOutlook['refusal'] => ({
  check,
  detail,
  ...definedOnly({ remedy }),
});

function describeProgram({ path, version, fit, testedRange, problem, adapter }: DiscoveredRuntime): string {
  if (path === null) return adapter ?? problem ?? 'built in';
  if (version === null) return `${path}: ${problem ?? 'it names no version'}`;
  const tested = testedRange === null ? '' : `, ${FITS[fit]} ${testedRange.from} to ${testedRange.to}`;
  return `${version} at ${path}${tested}`;
}

const FITS = {
  tested: 'within the tested',
  older: 'older than the tested',
  newer: 'newer than the tested',
  unknown: 'tested:',
} as const;

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= work());
}
