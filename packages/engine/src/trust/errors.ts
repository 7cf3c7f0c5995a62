import { CaissonError } from '@caisson/protocol';
import type { TrustReport } from './contract.ts';
import { formatAsk } from './describe-asks.ts';

const MAX_SHOWN = 12;
const MAX_LINE = 200;

/** The project's file asks for something that the user has not agreed to. */
export class TrustRequiredError extends CaissonError {
  readonly code = 'TRUST_REQUIRED';

  /** The message, line by line. */
  readonly lines: readonly string[];
  /** How to agree, for a reader who sees already what is asked for. */
  readonly agree: string;

  constructor(report: TrustReport) {
    const lines = summarize(report);
    super(lines.join('\n'), { remedy: describeRemedy(report) });
    this.lines = lines;
    this.agree = describeAgreement(report);
  }
}

/** What a project asks for changed between reading and agreeing. */
export class TrustChangedError extends CaissonError {
  readonly code = 'TRUST_REQUIRED';

  constructor() {
    super('what the project asks for changed while you read it; nothing was agreed to.', {
      remedy: 'Look at it again with caisson trust.',
    });
  }
}

/** The record of what the user agreed to cannot be used. */
export class TrustStoreError extends CaissonError {
  readonly code = 'TRUST_STORE';

  static unwritable(file: string, cause: Error): TrustStoreError {
    return new TrustStoreError(`what you agree to cannot be recorded in ${file}: ${cause.message}`, {
      cause,
      remedy:
        'Point XDG_STATE_HOME at a folder that you can write, or set CAISSON_TRUST as caisson trust prints it.',
    });
  }

  static foreign(path: string): TrustStoreError {
    return new TrustStoreError(`${path} belongs to another user.`, {
      remedy: 'Move it away, or point XDG_STATE_HOME at your own folder.',
    });
  }

  static open(path: string): TrustStoreError {
    return new TrustStoreError(`${path} can be written by other users.`, { remedy: `chmod go-w ${path}` });
  }

  static torn(file: string, cause: Error): TrustStoreError {
    return new TrustStoreError(`${file} cannot be read as a record of trust.`, {
      cause,
      remedy: 'Move it away and run caisson trust again in each project.',
    });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  new: 'caisson.yaml asks for what you have not agreed to',
  changed: 'caisson.yaml, or a file that it names, has changed since you agreed',
  send: 'caisson.yaml would send a credential of yours to an address that you have not named',
};

function summarize(report: TrustReport): string[] {
  const lines =
    report.status === 'changed'
      ? report.difference.map(({ sign, line }) => `  ${sign} ${line}`)
      : report.lines.map((line) => `  ${formatAsk(line)}`);
  const sends = report.sends
    .filter(({ to }) => report.missingSends.includes(to))
    .map(({ credential, to }) => `  sends ${credential} to ${to}`);
  const all = [...lines, ...sends].map((line) =>
    line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line,
  );
  const rest = all.length > MAX_SHOWN ? [`  and ${all.length - MAX_SHOWN} more`] : [];
  return [`${REASONS[report.status] ?? 'trust is required'}:`, ...all.slice(0, MAX_SHOWN), ...rest];
}

function describeRemedy(report: TrustReport): string {
  const stale = report.isVariableStale ? 'CAISSON_TRUST is set, but for something else. ' : '';
  return `${stale}Look at it with caisson trust, then agree with ${describeAgreement(report)}`;
}

function describeAgreement({ missingSends, variable }: TrustReport): string {
  const sends = missingSends.map((to) => ` --send-key ${to}`).join('');
  return `caisson trust --yes${sends}, or in CI with CAISSON_TRUST='${variable}'.`;
}
