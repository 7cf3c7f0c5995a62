/** What every page of a signed-in tab has. */
import { createContext, use } from 'react';
import type { Client } from '../api/client.ts';
import type { Session } from '../api/session.ts';
import type { LiveFeed } from './live-feed.ts';

export interface AppServices {
  readonly client: Client;
  readonly feed: LiveFeed;
  readonly session: Session;
  signOut(): void;
}

export const AppContext = createContext<AppServices | null>(null);

export function useApp(): AppServices {
  const services = use(AppContext);
  if (services === null) throw new Error('there is no session around this component');
  return services;
}
