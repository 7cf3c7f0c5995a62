import type { ConfigFile } from '@caisson/protocol';
import { anchorCommand } from './anchor-exec.ts';
import { divideFile, lowerToUser } from './asks.ts';
import type { DecideTrust, TrustDecision, TrustRequest } from './contract.ts';
import { findKeySends } from './find-key-sends.ts';
import { mapAt, SECRET_PATHS } from './named-paths.ts';

export interface WeighedFile {
  /** The part of the project's file that has an effect. */
  readonly file: ConfigFile;
  readonly trust: TrustDecision;
  readonly asked: TrustRequest;
}

/** How much of a project's file has an effect: all of it where the user agreed, else what is harmless. */
export async function weighFile(
  projectRoot: string,
  written: ConfigFile,
  user: ConfigFile,
  decideTrust: DecideTrust = refuseAll,
): Promise<WeighedFile> {
  if (Object.keys(written).length === 0)
    return {
      file: written,
      trust: { kind: 'nothing-asked' },
      asked: { projectRoot, asks: [], sends: [] },
    };
  const lowered = lowerToUser(written, user);
  const { harmless, asks } = divideFile(lowered, user);
  const asked = { projectRoot, asks, sends: asks.length === 0 ? [] : findKeySends(lowered, user) };
  const trust: TrustDecision = asks.length === 0 ? { kind: 'nothing-asked' } : await decideTrust(asked);
  const file = trust.kind === 'granted' ? lowered : harmless;
  return { file: anchorExec(file, projectRoot), trust, asked };
}

function anchorExec(file: ConfigFile, projectRoot: string): ConfigFile {
  const anchor = (ref: string): string =>
    ref.startsWith('exec:') ? `exec:${anchorCommand(ref.slice('exec:'.length), projectRoot)}` : ref;
  let anchored: unknown = file;
  for (const path of SECRET_PATHS) anchored = mapAt(anchored, path, anchor);
  return anchored as ConfigFile;
}

/** No decider was given. */
const refuseAll: DecideTrust = () => Promise.resolve({ kind: 'required', digest: '', reason: 'new' });
