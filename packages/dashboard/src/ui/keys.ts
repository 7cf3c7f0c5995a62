/** Keys that work anywhere on a page, unless a person types. They can be switched off (WCAG 2.1.4). */
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react';

const SETTING = 'caisson.keys';
const listeners = new Set<() => void>();

export function areKeysOn(): boolean {
  return localStorage.getItem(SETTING) !== 'off';
}

export function setKeysOn(isOn: boolean): void {
  localStorage.setItem(SETTING, isOn ? 'on' : 'off');
  for (const listener of listeners) listener();
}

export function useKeysSetting(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, areKeysOn);
}

/** `handle` says whether it used the key. */
export function useKeys(handle: (key: string, event: KeyboardEvent) => boolean): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!areKeysOn() || isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    if (handle(event.key, event)) event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input:not([type=checkbox]), textarea, select') !== null
  );
}
