export * from './contract.ts';
export { DigestMarks, DigestSet } from './digest-set.ts';
export * from './errors.ts';
export { inspectBlob, throwUnlessProblem, toProblem } from './inspect-blob.ts';
export { openLocalStore } from './local-store.ts';
export { openMirroredStore, type MirroredStore } from './mirrored-store.ts';
export { tidyStore } from './pack-loose.ts';
export { openS3Store } from './s3-store.ts';
