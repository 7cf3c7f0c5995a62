import type { TrustReport } from '@caisson/engine';
import type { Output } from './output.ts';
import { printable } from './printable.ts';

/** One screen: what the project asks for, what agreeing means, and which credentials would leave. */
export function formatTrust(report: TrustReport, style: Output['style']): string {
  if (report.status === 'nothing-asked')
    return `${printable(report.projectRoot)} asks for nothing that needs your agreement.`;
  return [
    `${printable(report.projectRoot)} asks for:`,
    ...report.lines.flatMap(({ key, value, meaning, files }) => [
      `  ${style.bold(printable(key))}: ${printable(value)}`,
      ...(meaning === '' ? [] : [`      ${style.dim(printable(meaning))}`]),
      ...files.map(
        ({ path, sha256 }) =>
          `      ${style.dim(`file ${printable(path)} (sha256 ${sha256.slice(0, 12)}…)`)}`,
      ),
    ]),
    ...formatDifference(report),
    ...formatSends(report, style),
    '',
    describeStatus(report, style),
  ].join('\n');
}

function formatDifference({ difference }: TrustReport): string[] {
  if (difference.length === 0) return [];
  return [
    '',
    'Changed since you agreed:',
    ...difference.map(({ sign, line }) => `  ${sign} ${printable(line)}`),
  ];
}

function formatSends({ sends, missingSends }: TrustReport, style: Output['style']): string[] {
  if (sends.length === 0) return [];
  return [
    '',
    style.yellow('It would send:'),
    ...sends.map(
      ({ by, credential, to }) =>
        `  ${printable(credential)} to ${printable(to)} (${printable(by)})${missingSends.includes(to) ? '' : ', agreed'}`,
    ),
  ];
}

function describeStatus({ status, digest }: TrustReport, style: Output['style']): string {
  if (status === 'granted') return style.green(`You have agreed to this (${digest}).`);
  return `You have not agreed to this; until then it has no effect. (${digest})`;
}
