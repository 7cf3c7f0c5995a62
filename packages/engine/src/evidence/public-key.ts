import { createPublicKey, hash, type KeyObject } from 'node:crypto';

import type { PublicKey } from './contract.ts';
import { KeyInvalidError } from './errors.ts';

/** Reads an Ed25519 public key in PEM; `where` names it in the error. */
export function parsePublicKey(pem: string, where: string): PublicKey {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: pem, format: 'pem' });
  } catch (cause) {
    throw new KeyInvalidError(`${where} is not a public key in PEM`, {
      cause,
      remedy: 'Get the file with "caisson keys export" from the person who signed.',
    });
  }
  if (pem.includes('PRIVATE')) throw new KeyInvalidError(`${where} is a private key; give the public one`);
  return describePublicKey(key, where);
}

export function describePublicKey(key: KeyObject, where: string): PublicKey {
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new KeyInvalidError(`${where} is a key of type ${key.asymmetricKeyType ?? 'unknown'}, not Ed25519`);
  }
  const raw = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  return { keyId: hash('sha256', raw), pem: key.export({ type: 'spki', format: 'pem' }).toString(), key };
}
