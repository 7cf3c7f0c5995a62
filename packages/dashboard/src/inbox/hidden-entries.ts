/** Entries that a person has hidden in this browser. Calls and questions cannot be hidden. */
import { useState } from 'react';

const KEY = 'caisson.hidden';
const MAX_KEPT = 1000;

export function useHiddenEntries(): [ReadonlySet<string>, (ids: readonly string[]) => void] {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(readHidden);
  const hide = (ids: readonly string[]) => {
    const next = [...hidden, ...ids].slice(-MAX_KEPT);
    localStorage.setItem(KEY, JSON.stringify(next));
    setHidden(new Set(next));
  };
  return [hidden, hide];
}

function readHidden(): ReadonlySet<string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return new Set(Array.isArray(stored) ? stored.map(String) : []);
  } catch {
    return new Set();
  }
}
