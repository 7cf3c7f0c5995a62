/** Reads a run's manifest from its events, so that recovery can seal what another host began. */
import { definedOnly, type Mode } from '@caisson/protocol';
import * as z from 'zod/mini';
import { ZERO_HASH, type StoredEvent } from '../ledger/index.ts';
import { SealRefusedError } from './errors.ts';
import type { EvidenceManifest } from './manifest.ts';

/** What the manifest names of the host that seals. */
export interface SealingHost {
  /** The version of Caisson. */
  readonly version: string;
  readonly ceiling: Mode | undefined;
  /** Resolves with the sha256 of a program whose file is in this state; null when it is not, or not any more. */
  digestProgram(program: string, state: string): Promise<string | null>;
}

/** The part of a prepared workspace that the manifest names. */
const WorkspaceBase = z.object({ baseCommit: z.nullable(z.string()), baselineTree: z.string() });

/** The events begin with the run's acceptance, which named every input by its digest. */
export async function composeManifest(
  host: SealingHost,
  runId: string,
  events: readonly StoredEvent[],
): Promise<EvidenceManifest> {
  const [first] = events;
  if (first?.type !== 'dispatch.accepted')
    throw new SealRefusedError(`${runId} does not begin with its acceptance`);
  const accepted = first.data;
  const { resolved, runtimeInfo } = accepted;
  return {
    schemaVersion: 1,
    runId,
    ...definedOnly({ continues: accepted.continues }),
    task: accepted.task,
    base: findBase(events),
    ...definedOnly({ agent: resolved.agent }),
    capabilities: resolved.capabilities,
    env: { bundles: resolved.env, names: accepted.envNames ?? [] },
    inputs: (accepted.inputs ?? []).map(({ key, sha256 }) => ({ key, sha256 })),
    ...definedOnly({ prompts: accepted.prompts }),
    pipeline: accepted.pipeline ?? { id: 'caisson.default', hash: ZERO_HASH },
    policy: {
      grant: accepted.grant,
      ceiling: host.ceiling,
      ...definedOnly({ rulesHash: accepted.rulesHash }),
    },
    runtime: {
      name: accepted.runtime,
      version: runtimeInfo?.version ?? null,
      binary: await digestStarted(host, runtimeInfo?.bin ?? '', events),
      ...(runtimeInfo?.adapter == null ? {} : { adapter: runtimeInfo.adapter }),
    },
    model: { requested: resolved.model.requested },
    host: {
      caisson: host.version,
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    },
  };
}

/** A program that was updated meanwhile is not the one that ran, and that one cannot be read any more. */
async function digestStarted(
  host: SealingHost,
  program: string,
  events: readonly StoredEvent[],
): Promise<string | null> {
  const state = events.findLast((event) => event.type === 'attempt.launched')?.data.program;
  return state === undefined ? null : await host.digestProgram(program, state);
}

/** The last attempt counts: its workspace is the one that the result came from. */
function findBase(events: readonly StoredEvent[]): EvidenceManifest['base'] {
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  const workspace = WorkspaceBase.safeParse(launched?.data.workspace).data;
  return { commit: workspace?.baseCommit ?? null, baselineTree: workspace?.baselineTree ?? null };
}
