import { realpathSync } from 'node:fs';
import { arch, platform, release } from 'node:os';
import { findBwrap, MINIMAL_COMMAND_ENV } from '@caisson/ground';
import type { Probe, ProbeReport } from './contract.ts';
import { findProgram } from './find-program.ts';
import { askVersion, compareVersions } from './program-version.ts';

const OLDEST_NODE = '22.18.0';
const OLDEST_GIT = '2.30.0';
/** The first bubblewrap with `--disable-userns`. */
const OLDEST_BWRAP = '0.8.0';

export const platformProbe: Probe = {
  id: 'platform',
  async run() {
    const detail = `${platform()} ${release()} on ${arch()}`;
    if (platform() === 'linux' && ['x64', 'arm64'].includes(arch())) return { verdict: 'ok', detail };
    return { verdict: 'fail', detail, remedy: 'Use Linux on x64 or arm64.' };
  },
};

export const nodeProbe: Probe = {
  id: 'node',
  async run() {
    const { node } = process.versions;
    if (compareVersions(node, OLDEST_NODE) >= 0) return { verdict: 'ok', detail: node };
    return { verdict: 'fail', detail: node, remedy: `Install Node ${OLDEST_NODE} or newer.` };
  },
};

/** The one that runs start: looked up in folders of the system, never in PATH, which an agent may be able to change. */
export const gitProbe = createToolProbe('git', {
  program: 'git',
  oldest: OLDEST_GIT,
  locate: () => findProgram('git', MINIMAL_COMMAND_ENV['PATH'], '/'),
  package: 'git',
});

export const bubblewrapProbe = createToolProbe('bubblewrap', {
  program: 'bwrap',
  oldest: OLDEST_BWRAP,
  locate: findBwrap,
  package: 'bubblewrap',
});

interface Tool {
  readonly program: string;
  readonly oldest: string;
  readonly locate: () => string | null;
  readonly package: string;
}

/** A probe for a program that runs themselves need. */
export function createToolProbe(id: string, { program, oldest, locate, package: name }: Tool): Probe {
  const remedy = `Install ${program} ${oldest} or newer, for example: apt-get install ${name}`;
  return {
    id,
    async run(context): Promise<Omit<ProbeReport, 'id'>> {
      const path = locate();
      const unused = findUnused(path, findProgram(program, context.env['PATH'], '/'));
      if (path === null)
        return { verdict: 'fail', detail: `${program} is not in the system's folders${unused}`, remedy };
      const { version, problem } = await askVersion(path, ['--version'], {
        searchPath: MINIMAL_COMMAND_ENV['PATH'],
        project: null,
        signal: context.signal,
      });
      if (version === null) return { verdict: 'fail', detail: `${path}: ${problem ?? 'no version'}`, remedy };
      const detail = `${version} at ${path}${unused}`;
      return compareVersions(version, oldest) >= 0
        ? { verdict: 'ok', detail }
        : { verdict: 'warn', detail: `${detail}, older than ${oldest}`, remedy };
    },
  };
}

function findUnused(used: string | null, inPath: string | null): string {
  if (inPath === null || (used !== null && realpathSync(inPath) === realpathSync(used))) return '';
  return `; runs do not use ${inPath}, which PATH names`;
}
