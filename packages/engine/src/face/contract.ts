/**
 * A host on TCP: the routes of its socket, for visitors who show a token, and the pages of the dashboard.
 *
 * F1  A request names one of our own addresses as its `Host`; every other one is refused (DNS rebinding).
 * F2  A request that a page of another origin makes is refused, whatever it carries. There is no CORS and no cookie.
 * F3  All but the pages and the exchange of a link needs a token. Only digests of tokens are kept; comparing takes the same time for all.
 *     An answer that is under way ends with its token.
 * F4  What changes something is JSON with a header that no form can send, needs the scope of its operation, and is recorded
 *     with who asked before it is done. The order to end or to reload waits for its record for a second at most, and is obeyed
 *     although the ledger can record nothing (locked, full, failing, read-only); any other failure to record refuses it.
 * F5  Beyond the loopback address there is only TLS, and without a certificate nothing. No project's file opens a port.
 * F6  On the loopback address only programs of this account are answered, whatever they show: a port of ours can be another
 *     account's once we are gone, and what was sent there is worth nothing here.
 * F7  A session of a page ends with the listening that a person ended, also one that is being made, and seven days after its link was used.
 */
import type { Scope, TokenView } from '@caisson/protocol';

/** Who shows a valid token. */
export interface Visitor {
  readonly id: string;
  readonly name: string;
  readonly kind: TokenView['kind'];
  readonly scopes: readonly Scope[];
  readonly expiresAt: string | null;
  /** Of a session: no rotation leads beyond it. */
  readonly endsAt?: string | undefined;
}

/** A file of the dashboard. */
export interface Page {
  readonly bytes: Buffer;
  readonly type: string;
  /** Its name has a digest of its content. */
  readonly isImmutable: boolean;
}
