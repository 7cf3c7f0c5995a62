/** What every store promises. Each implementation runs it in a line. */
import { describe } from 'vitest';
import { describeBlobs, describeEmpty, describeTogether } from './conformance/blobs.ts';
import { describeBundles, describeTargets } from './conformance/bundles.ts';
import { describeCollecting } from './conformance/collecting.ts';
import { describeBadManifests, describeRefusals } from './conformance/refusals.ts';
import { useStore, type StartStore } from './conformance/store-at-hand.ts';

export function describeStoreConformance(name: string, start: StartStore): void {
  describe(`${name} keeps the store's promises`, () => {
    const at = useStore(start);
    describeBlobs(at);
    describeEmpty(at);
    describeTogether(at);
    describeBundles(at);
    describeTargets(at);
    describeRefusals(at);
    describeBadManifests(at);
    describeCollecting(at);
  });
}
