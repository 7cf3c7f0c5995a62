import { useState } from 'react';

export interface Marks {
  readonly ids: ReadonlySet<string>;
  toggle(id: string): void;
  clear(): void;
}

export function useMarks(): Marks {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) =>
    setIds((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  return { ids, toggle, clear: () => setIds(new Set()) };
}
