/**
 * The signing key in an ssh-agent. Its public half is remembered on first use, in `agent/<keyid>.pem` of the key
 * folder: `verify` then needs no agent, and an agent that suddenly offers another key does not sign unnoticed.
 */
import { verify } from 'node:crypto';

import type { PublicKey, SigningKey } from './contract.ts';
import { KeyChangedError, KeyChoiceError, SignerUnusableError } from './errors.ts';
import { listIdentities, signWithAgent, type AgentIdentity } from './ssh-agent.ts';

/** Which agent signs, and with which of its keys. */
export interface AgentSigner {
  readonly socket: string;
  /** `SHA256:…` or the comment; null: its only Ed25519 key. */
  readonly identity: string | null;
}

/** The key that the agent would sign with now. `known` are the keys that were used before. */
export async function findAgentKey(signer: AgentSigner, known: readonly PublicKey[]): Promise<SigningKey> {
  const { socket } = signer;
  const { blob, publicKey } = choose(signer, await listIdentities(socket), known);
  return {
    ...publicKey,
    async sign(data) {
      const signature = await signWithAgent(socket, blob, data);
      if (signature.length !== 64 || !verify(null, data, publicKey.key, signature))
        throw new SignerUnusableError(socket, `what it signed is not valid for key ${publicKey.keyId}`);
      return signature;
    },
  };
}

function choose(
  { socket, identity }: AgentSigner,
  found: readonly AgentIdentity[],
  known: readonly PublicKey[],
): AgentIdentity {
  if (found.length === 0) throw new SignerUnusableError(socket, 'it holds no Ed25519 key, or it is locked');
  const fitting = found.filter(({ fingerprint, comment }) =>
    identity === null ? true : fingerprint === identity || comment === identity,
  );
  const isKnown = ({ publicKey }: AgentIdentity): boolean =>
    known.some(({ keyId }) => keyId === publicKey.keyId);
  const [only, ...others] = fitting;
  if (only === undefined)
    throw new KeyChoiceError(`the agent at ${socket} has no Ed25519 key ${JSON.stringify(identity)}`, found);
  if (others.length === 0) {
    // An identity was chosen by the user; without one, another key than before is a surprise.
    if (identity === null && known.length > 0 && !isKnown(only)) throw new KeyChangedError(socket, only);
    return only;
  }
  const [usual, ...more] = fitting.filter(isKnown);
  if (usual !== undefined && more.length === 0) return usual;
  throw new KeyChoiceError(`the agent at ${socket} has several Ed25519 keys that could sign`, found);
}
