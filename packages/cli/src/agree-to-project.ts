import { grantTrust, type TrustReport } from '@caisson/engine';
import { askOnTerminal, confirmOnTerminal } from './ask-on-terminal.ts';
import { formatTrust } from './format-trust.ts';
import type { Output } from './output.ts';

/** Shows what a project asks for and asks the person at the terminal; null where they said no. */
export async function agreeToProject(
  report: TrustReport,
  stateDir: string | undefined,
  output: Output,
): Promise<TrustReport | null> {
  output.note(formatTrust(report, output.style));
  if (report.status !== 'send' && !(await confirmOnTerminal(output, 'Agree to this?'))) return null;
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
  return await grantTrust({ flags: { state: stateDir }, sendsTo });
}
