import { arch, platform, release } from 'node:os';
import type { Probe, ProbeReport } from './contract.ts';
import { discoverRuntimes } from './discover-runtimes.ts';
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

export const gitProbe = createProgramProbe('git', 'git', OLDEST_GIT, {
  missing: 'fail',
  package: 'git',
});

export const bubblewrapProbe = createProgramProbe('bubblewrap', 'bwrap', OLDEST_BWRAP, {
  missing: 'fail',
  package: 'bubblewrap',
});

/** Without an agent program there is still the native agent and plain commands, so this only warns. */
export const agentsProbe: Probe = {
  id: 'agents',
  async run(context) {
    const programs = (await discoverRuntimes(context)).filter((runtime) => runtime.kind === 'program');
    const found = programs.filter((runtime) => runtime.path !== null);
    const missing = found.length === 0;
    const lines = found.map(
      (runtime) =>
        `${runtime.name} ${runtime.version ?? 'of unknown version'}${runtime.fit === 'tested' || runtime.fit === 'unknown' ? '' : ` (${runtime.fit} than tested)`}`,
    );
    const detail = missing ? 'no agent program found in PATH' : lines.join(', ');
    const broken = found.find((runtime) => runtime.problem !== null);
    if (broken !== undefined) {
      return {
        verdict: 'warn',
        detail,
        remedy: `${broken.path ?? broken.name}: ${broken.problem ?? ''}; reinstall it or set runtimes.${broken.name}.bin.`,
      };
    }
    if (!missing) return { verdict: 'ok', detail };
    return {
      verdict: 'warn',
      detail,
      remedy: 'Install one, for example npm install -g @openai/codex; caisson runtimes lists them all.',
    };
  },
};

function createProgramProbe(
  id: string,
  program: string,
  oldest: string,
  traits: { missing: 'warn' | 'fail'; package: string },
): Probe {
  const remedy = `Install ${program} ${oldest} or newer, for example: apt-get install ${traits.package}`;
  return {
    id,
    async run(context): Promise<Omit<ProbeReport, 'id'>> {
      const path = findProgram(program, context.env['PATH'], '/');
      if (path === null) return { verdict: traits.missing, detail: `${program} is not in PATH`, remedy };
      const { version, problem } = await askVersion(path, ['--version'], {
        searchPath: context.env['PATH'],
        signal: context.signal,
      });
      if (version === null) return { verdict: 'fail', detail: `${path}: ${problem ?? 'no version'}`, remedy };
      const detail = `${version} at ${path}`;
      return compareVersions(version, oldest) >= 0
        ? { verdict: 'ok', detail }
        : { verdict: 'warn', detail: `${detail}, older than ${oldest}`, remedy };
    },
  };
}
