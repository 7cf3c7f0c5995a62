import type { ProjectTrust, TrustReport } from '@caisson/engine';
import { line, type Line, type Lines, type Style } from './painted.ts';

/** One screen: what the project asks for, what agreeing means, and which credentials would be sent. */
export function formatTrust(report: ProjectTrust, style: Style): Lines {
  const problems = [report.folder, report.state].flatMap((problem) =>
    problem === null ? [] : [style.yellow(problem.detail), `  ${problem.remedy}`],
  );
  if (report.folder !== null) return [...problems, 'Its caisson.yaml is not read before that.'];
  return [...problems, ...formatAsks(report, style)];
}

function formatAsks(report: TrustReport, style: Style): Lines {
  if (report.status === 'nothing-asked')
    return [`${report.projectRoot} asks for nothing that needs your agreement.`];
  return [
    `${report.projectRoot} asks for:`,
    ...report.lines.flatMap(({ key, value, meaning, files }) => [
      line`  ${style.bold(key)}: ${value}`,
      ...(meaning === '' ? [] : [line`      ${style.dim(meaning)}`]),
      ...files.map(
        ({ path, sha256 }) => line`      ${style.dim(`file ${path} (sha256 ${sha256.slice(0, 12)}…)`)}`,
      ),
    ]),
    ...formatDifference(report),
    ...formatSends(report, style),
    '',
    describeStatus(report, style),
  ];
}

function formatDifference({ difference }: TrustReport): Lines {
  if (difference.length === 0) return [];
  return [
    '',
    'Changed since you agreed (git log -p FILE shows how a file changed):',
    ...difference.map(({ sign, line: text }) => `  ${sign} ${text}`),
  ];
}

function formatSends({ sends, missingSends }: TrustReport, style: Style): Lines {
  if (sends.length === 0) return [];
  return [
    '',
    style.yellow('It would send:'),
    ...sends.map(
      ({ by, credential, to }) =>
        `  ${credential} to ${to} (${by})${missingSends.includes(to) ? '' : ', agreed'}`,
    ),
  ];
}

function describeStatus({ status, digest }: TrustReport, style: Style): Line {
  if (status === 'granted') return style.green(`You have agreed to this (${digest}).`);
  return `You have not agreed to this; until then it has no effect. (${digest})`;
}
