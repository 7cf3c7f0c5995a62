import { useState } from 'react';

export type Theme = 'auto' | 'light' | 'dark';
const KEY = 'caisson.theme';
const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' };

export function readTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'auto';
}

export function showTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme;
}

/** The theme, and a switch to the next one. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(readTheme);
  const change = () => {
    const next = NEXT[theme];
    localStorage.setItem(KEY, next);
    showTheme(next);
    setTheme(next);
  };
  return [theme, change];
}
