/** The page's address as a store: links and the back button change it, nothing is loaded again. */
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('popstate', listener);
  };
}

export function navigate(path: string, { isReplaced = false } = {}): void {
  if (isReplaced) window.history.replaceState(null, '', path);
  else window.history.pushState(null, '', path);
  if (!isReplaced) window.scrollTo(0, 0);
  for (const listener of listeners) listener();
}

export function usePathname(): string {
  return useSyncExternalStore(subscribe, () => window.location.pathname);
}

/** The query of the address, and a way to change some of its members in place. */
export function useQueryParams(): [URLSearchParams, (changes: Record<string, string | null>) => void] {
  const search = useSyncExternalStore(subscribe, () => window.location.search);
  return [new URLSearchParams(search), changeQuery];
}

function changeQuery(changes: Record<string, string | null>): void {
  const params = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') params.delete(name);
    else params.set(name, value);
  }
  const text = params.toString();
  navigate(`${window.location.pathname}${text === '' ? '' : `?${text}`}`, { isReplaced: true });
}
