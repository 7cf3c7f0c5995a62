import {
  discoverRuntimes,
  loadConfigToRead,
  readHostEnvironment,
  type DiscoveredRuntime,
} from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { warnUnread } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '',
  about: 'Searches PATH and runtimes: in caisson.yaml. Each program is started once, for its version only.',
  options: {},
  examples: [
    {
      line: 'caisson runtimes',
      says: 'What is installed, its version, whether it was tested, and which key or log-in a run would use.',
    },
    { line: 'caisson runtimes -o ndjson', says: 'One JSON line per runtime.' },
  ],
  async run({ options, output }) {
    const flags = { state: options['state-dir'] };
    const { folders, runtimes, projectRoot } = await loadConfigToRead({ flags }, warnUnread(output));
    const found = await discoverRuntimes({
      env: readHostEnvironment(),
      home: folders.home,
      runtimes,
      projectRoot,
    });
    output.result(found, () => formatTable(listRows(found), output.style.bold, output.wrapColumns()));
    return EXIT_CODES.finished;
  },
});

function listRows(found: readonly DiscoveredRuntime[]): string[][] {
  const cells = found.map((runtime) => [
    runtime.name,
    describeVersion(runtime),
    runtime.uses,
    describeReports(runtime),
    runtime.problem ?? runtime.path ?? runtime.adapter ?? 'built in',
  ]);
  return [['RUNTIME', 'VERSION', 'A RUN USES', 'REPORTS', 'WHERE'], ...cells];
}

function describeVersion({ version, fit, testedRange, path }: DiscoveredRuntime): string {
  if (version === null) return path === null ? '-' : 'unknown';
  if (fit === 'tested' || testedRange === null) return version;
  return fit === 'unknown'
    ? version
    : `${version} (${fit} than ${fit === 'older' ? testedRange.from : testedRange.to})`;
}

function describeReports({ reports }: DiscoveredRuntime): string {
  if (reports.cost) return 'usage, cost';
  return reports.usage ? 'usage' : '-';
}
