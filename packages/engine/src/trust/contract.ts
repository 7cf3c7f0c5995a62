import type { KeySend, TrustDecision, TrustRequest } from '../config/index.ts';

/** What the user agreed to for one project. */
export interface TrustRecord {
  /** `sha256:<hex>` over what was asked for and the project's files that it names. */
  readonly digest: string;
  readonly grantedAt: string;
  /** What was asked for, line by line, to show what has changed since. */
  readonly lines: readonly string[];
  /** Which credential may go to which address. */
  readonly sends: readonly Pick<KeySend, 'credential' | 'to'>[];
  /** The digests of its parts: with them a removed part is recognised. Records of old versions lack them. */
  readonly parts?: AskedParts;
}

/** Digests: of each sense, workflow and schedule alone, and of everything else together. */
export interface AskedParts {
  readonly residents: readonly string[];
  readonly rest: string;
}

/** What a project asks for, as readable lines, and what the user has agreed to. */
export interface TrustReport {
  readonly projectRoot: string;
  readonly digest: string;
  readonly status: 'nothing-asked' | 'granted' | 'new' | 'changed' | 'send';
  readonly lines: readonly AskLine[];
  readonly sends: readonly KeySend[];
  /** Addresses among `sends` that the user has not named yet. */
  readonly missingSends: readonly string[];
  /** The difference to what was agreed to before; empty where nothing was. */
  readonly difference: readonly { readonly sign: '+' | '-'; readonly line: string }[];
  /** CAISSON_TRUST is set, but for something else. */
  readonly isVariableStale: boolean;
  /** The value of CAISSON_TRUST that agrees to exactly this. */
  readonly variable: string;
}

/** One thing that is asked for. */
export interface AskLine {
  readonly key: string;
  readonly value: string;
  /** What agreeing to it means. */
  readonly meaning: string;
  /** sha256 of the project's files that it names. */
  readonly files: readonly { readonly path: string; readonly sha256: string }[];
}

export interface Trust {
  /** Whether the user has agreed to what is asked for; by record, or by CAISSON_TRUST. */
  decide(request: TrustRequest): Promise<TrustDecision>;
  report(request: TrustRequest): Promise<TrustReport>;
  /** Records that the user agrees to what is asked for now. `sendsTo` names each address that may get a credential. */
  grant(request: TrustRequest, sendsTo: readonly string[]): Promise<TrustReport>;
  /** Revokes an agreement; false where there was none. */
  revoke(projectRoot: string): Promise<boolean>;
}
