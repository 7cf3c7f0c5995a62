import { grantTrust, isAgreed, type ProjectTrust } from '@caisson/engine';
import { askOnTerminal, confirmOnTerminal } from './ask-on-terminal.ts';
import { formatTrust } from './format-trust.ts';
import type { Output } from './output.ts';

/** Shows what a project asks for and asks the person at the terminal, step by step; null if they refuse. */
export async function agreeToProject(
  report: ProjectTrust,
  stateDir: string | undefined,
  output: Output,
): Promise<ProjectTrust | null> {
  output.note(formatTrust(report, output.style));
  const isOnlySend = report.status === 'send' && report.folder === null && report.state === null;
  if (!isOnlySend && !(await confirmOnTerminal(output, 'Agree to this?'))) return null;
  const sendsTo = report.sends.map(({ to }) => to).filter((to) => !report.missingSends.includes(to));
  for (const to of report.missingSends) {
    const host = new URL(to).host;
    const answer = await askOnTerminal(
      output,
      `A credential of yours would go to ${to}. Type ${host} to agree:`,
    );
    if (answer !== host) return null;
    sendsTo.push(to);
  }
  const next = await grantTrust({ flags: { state: stateDir }, sendsTo, digest: report.digest });
  // A folder was accepted: now its file can be read.
  const isNews = next.folder?.detail !== report.folder?.detail || next.state?.detail !== report.state?.detail;
  return isNews && !isAgreed(next) ? agreeToProject(next, stateDir, output) : next;
}
