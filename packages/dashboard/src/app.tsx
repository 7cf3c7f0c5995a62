/** Signs in with the link of the address, and shows the pages while there is a session. */
import { useCallback, useEffect, useMemo, useState } from 'react';
import { AppContext, type AppServices } from './live/app-context.ts';
import { createClient } from './api/client.ts';
import { keepSignedIn } from './api/keep-signed-in.ts';
import { asProblem, type ProblemError } from './api/problem.ts';
import {
  dropSession,
  exchangeLink,
  findLinkCode,
  keepSession,
  readSession,
  type Session,
} from './api/session.ts';
import { LiveFeed } from './live/live-feed.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

/** Read once, before anything is drawn: the code leaves the address at once. */
const linkCode = takeLinkCode();
let exchange: Promise<Session> | null = null;

export function App() {
  const [session, setSession] = useState(() =>
    linkCode === null ? readSession(sessionStorage, Date.now()) : null,
  );
  const [isSigningIn, setIsSigningIn] = useState(linkCode !== null);
  const [problem, setProblem] = useState<ProblemError | null>(null);
  useEffect(() => {
    if (linkCode === null) return;
    exchange ??= exchangeLink(linkCode);
    exchange
      .then(
        (found) => {
          keepSession(sessionStorage, found);
          setSession(found);
        },
        (error: unknown) => setProblem(asProblem(error)),
      )
      .finally(() => setIsSigningIn(false));
  }, []);
  const signOut = useCallback(() => {
    dropSession(sessionStorage);
    setSession(null);
  }, []);
  if (session === null) return <SignIn isSigningIn={isSigningIn} problem={problem} />;
  return <SignedIn key={session.token} session={session} signOut={signOut} />;
}

function SignedIn({ session, signOut }: { session: Session; signOut: () => void }) {
  const client = useMemo(() => createClient(session.token, signOut), [session, signOut]);
  const [feed, setFeed] = useState<LiveFeed | null>(null);
  useEffect(() => keepSignedIn(client, session, sessionStorage), [client, session]);
  useEffect(() => {
    const opened = new LiveFeed(client);
    setFeed(opened);
    opened.start();
    return () => opened.stop();
  }, [client]);
  const services = useMemo<AppServices | null>(
    () =>
      feed === null
        ? null
        : {
            ...{ client, feed, session },
            signOut: () =>
              void client
                .send('DELETE', '/v1/session')
                .catch(() => undefined)
                .finally(signOut),
          },
    [client, feed, session, signOut],
  );
  if (services === null) return null;
  return (
    <AppContext value={services}>
      <Shell />
    </AppContext>
  );
}

function takeLinkCode(): string | null {
  const code = findLinkCode(window.location.hash);
  if (code !== null) window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return code;
}
