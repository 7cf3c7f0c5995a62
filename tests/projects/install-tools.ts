/** The toolchains of the projects, from Debian. As root they are installed; otherwise what is missing is named. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Source packages of Debian, downloaded once. */
export const SOURCES = join(tmpdir(), 'caisson-project-sources');
const SOURCE_PACKAGES = ['toolz', 'golang-github-google-uuid'];

const PACKAGES = [
  ...[
    'cargo',
    'librust-itoa-dev',
    'librust-fnv-dev',
    'golang-go',
    'maven',
    'gradle',
    'maven-debian-helper',
    'junit4',
  ],
  ...['libsurefire-java', 'python3-venv', 'python3-pytest', 'dpkg-dev', 'openssh-server', 'openssh-client'],
];

export default function installTools(): void {
  installPackages();
  downloadSources();
}

/** With a private list of what Debian has: many machines list no sources. */
function downloadSources(): void {
  mkdirSync(SOURCES, { recursive: true });
  const have = readdirSync(SOURCES);
  const missing = SOURCE_PACKAGES.filter(
    (name) => !have.some((file) => file.startsWith(`${name}_`) && file.includes('.orig.')),
  );
  if (missing.length === 0) return;
  const script = `cat /etc/apt/sources.list.d/debian.sources | sed 's/^Types: .*/Types: deb-src/' > list.sources
mkdir -p lists/partial cache; chmod 755 .
apt="apt-get -q -o Dir::Etc::SourceList=$PWD/list.sources -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$PWD/lists -o Dir::Cache=$PWD/cache -o APT::Sandbox::User=root"
$apt update && $apt source --download-only ${missing.join(' ')}`;
  execFileSync('bash', ['-euc', script], { cwd: SOURCES, stdio: ['ignore', 'ignore', 'inherit'] });
}

function installPackages(): void {
  const missing = PACKAGES.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const line = ['apt-get', 'install', '-y', '--no-install-recommends', ...missing];
  if (process.getuid?.() !== 0 || process.env['CAISSON_NO_APT'] === '1')
    throw new Error(`Install what the projects are built with: ${line.join(' ')}`);
  process.stderr.write(`${line.join(' ')}\n`);
  execFileSync('apt-get', ['update', '-q'], { stdio: 'ignore' });
  execFileSync(line[0] ?? '', line.slice(1), {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}

function isInstalled(name: string): boolean {
  try {
    return execFileSync('dpkg-query', ['-Wf', '${Status}', name], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).includes('ok installed');
  } catch {
    return false;
  }
}
