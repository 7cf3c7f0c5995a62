export * from './contract.ts';
export * from './errors.ts';
export { openKeyring, type Keyring, type ListedKey } from './keys.ts';
export { parsePublicKey } from './public-key.ts';
export { EvidenceManifest } from './manifest.ts';
export { composeManifest, type SealingHost } from './compose-manifest.ts';
export { listArtefacts } from './list-artefacts.ts';
export { prepareSeal, signSeal, type PreparedSeal, type Seal } from './seal.ts';
export {
  findChainBreak,
  findChainBreakIn,
  listNewestSeals,
  walkBack,
  walkSeals,
  nextLink,
  refuseLostSeal,
  type RecordedSeal,
} from './seal-chain.ts';
export { openLedgerHeads, type HeadVerdict, type LedgerHead, type LedgerHeads } from './ledger-head.ts';
export { encodeWitnessLine, parseWitness, type WitnessLine } from './witness.ts';
export { compareWitness } from './compare-witness.ts';
export { watchWitness, type WatchedWitness } from './watched-witness.ts';
export { readEnd } from './witness-file.ts';
export { parseStoredEnvelope } from './dsse.ts';
export { findSeal, findSealAlone, listSealedArtefacts, sealEventId } from './find-seal.ts';
export { exportRun, type Exported } from './export.ts';
export { verifyExport, verifyRun, type LedgerCheck, type VerifyOptions } from './verify.ts';
export { createFileSink } from './file-sink.ts';
