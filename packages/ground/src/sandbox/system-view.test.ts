import { expect, test } from 'vitest';
import {
  adoptSystemView,
  listSystemViewNow,
  prepareSystemView,
  takeSystemView,
  type ListedSystemView,
} from './system-view.ts';

const MARK = '/etc/of-another-process';

/** A view that no listing here would find, and how long ago it was listed. */
function listedBefore(ageMs: number): ListedSystemView {
  const { listedAtMs, ...view } = listSystemViewNow();
  return { ...view, files: [...view.files, MARK], listedAtMs: listedAtMs - ageMs };
}

test('a view that another process listed just now is taken for one launch, and not listed again', () => {
  adoptSystemView(listedBefore(0));
  prepareSystemView();
  expect(takeSystemView().files).toContain(MARK);
  expect(takeSystemView().files).not.toContain(MARK);
});

test.each([
  ['a second old', 1001],
  ['from a time to come', -60_000],
])('a view that is %s is listed again, before a launch and for it', (_title, ageMs) => {
  for (const prepares of [true, false]) {
    adoptSystemView(listedBefore(ageMs));
    if (prepares) prepareSystemView();
    const { files, folders } = takeSystemView();
    expect(files).not.toContain(MARK);
    expect([...files, ...folders].length).toBeGreaterThan(0);
  }
});
