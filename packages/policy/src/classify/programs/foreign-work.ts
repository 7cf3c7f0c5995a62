/** Programs that make this machine work for another person. */
import type { Call } from '../inspector.ts';
import { normalizePath } from '../path-kind.ts';

const MINERS =
  /^(xmrig|xmr-stak\S*|minerd|cpuminer\S*|ethminer|t-rex|nbminer|lolminer|cgminer|bfgminer|phoenixminer|nanominer|gminer|teamredminer|srbminer\S*|ccminer|claymore\S*|wildrig\S*)$/i;
/** Where programs are hidden. */
const HIDDEN =
  /^(?:\/tmp|\/var\/tmp|\/dev\/shm)\/(?:.*\/)?\.[\w.-]+\/|^\/dev\/shm\/|^~\/(?:.*\/)?\.(?:cache|config|local)\/(?:.*\/)?\.[\w.-]+\//;

/** A miner, by name or by its pool; or a program that was unpacked in a hiding place. */
export function isMiner({ name, path, args, scope, inspector }: Call): boolean {
  if (MINERS.test(name)) return true;
  if (args.some((arg) => /^(?:stratum\+|--donate-level|--randomx\b|--coin=)/.test(arg))) return true;
  return (
    path.includes('/') &&
    HIDDEN.test(normalizePath(path, scope)) &&
    /\b(?:curl|wget|aria2c|fetch)\s/.test(inspector.line)
  );
}

/** `docker run xmrig/xmrig`. */
export function isMinerImage(word: string): boolean {
  if (!/min|xm|rex|rig|claymore|^stratum/i.test(word)) return false;
  return MINERS.test(word.replace(/:[\w.-]+$/, '').replace(/.*\//, '')) || /^stratum\+/.test(word);
}

/** A runner that gets its work from another machine: `./config.sh --url … --token …`. */
export function registersRunner({ name, args }: Call): boolean {
  const has = (option: string): boolean => args.some((arg) => arg.split('=')[0] === option);
  if (/^config\.(sh|cmd)$/.test(name)) return has('--url') && has('--token');
  if (name === 'gitlab-runner') return /^(register|install|start)$/.test(args[0] ?? '');
  return /^(buildkite-agent|circleci-runner|act_runner|forgejo-runner)$/.test(name)
    ? /^(start|register|daemon|install)$/.test(args[0] ?? '')
    : false;
}
