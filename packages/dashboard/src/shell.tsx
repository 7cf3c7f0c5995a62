import { useEffect, useRef, useState } from 'react';
import { useApp } from './live/app-context.ts';
import { CostsPage } from './costs/costs-page.tsx';
import { DoctorPage } from './doctor/doctor-page.tsx';
import { InboxPage } from './inbox/inbox-page.tsx';
import { useWaitingCount } from './inbox/use-waiting-count.ts';
import { KeysDialog } from './keys-dialog.tsx';
import { useFeedState } from './live/use-feed.ts';
import { PoolPage } from './pool/pool-page.tsx';
import { ResidentsPage } from './residents/residents-page.tsx';
import { Link } from './router/link.tsx';
import { navigate, usePathname } from './router/location.ts';
import { parseRoute, type Route } from './router/route.ts';
import { RunPage } from './run/run-page.tsx';
import { RunsPage } from './runs/runs-page.tsx';
import { useKeys } from './ui/keys.ts';
import { useProjectName } from './use-project-name.ts';
import { useTheme } from './ui/theme.ts';

const PAGES = [
  { path: '/', page: 'inbox', title: 'Inbox', key: 'i' },
  { path: '/runs', page: 'runs', title: 'Runs', key: 'r' },
  { path: '/costs', page: 'costs', title: 'Costs', key: 'c' },
  { path: '/residents', page: 'residents', title: 'Residents', key: 's' },
  { path: '/pool', page: 'pool', title: 'Pool', key: 'p' },
  { path: '/doctor', page: 'doctor', title: 'Doctor', key: 'd' },
] as const;

export function Shell() {
  const route = parseRoute(usePathname());
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  useGoKeys(() => setIsHelpOpen(true));
  const project = useProjectName();
  useEffect(() => {
    document.title = [titleOf(route), project, 'Caisson'].filter(Boolean).join(' · ');
  });
  return (
    <>
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <Header route={route} project={project} onHelp={() => setIsHelpOpen(true)} />
      <ConnectionBar />
      <main id="page" tabIndex={-1}>
        <Page route={route} />
      </main>
      {isHelpOpen ? <KeysDialog onClose={() => setIsHelpOpen(false)} /> : null}
    </>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case 'inbox':
      return <InboxPage />;
    case 'runs':
      return <RunsPage />;
    case 'run':
      return <RunPage key={route.runId} runId={route.runId} tab={route.tab} />;
    case 'costs':
      return <CostsPage />;
    case 'residents':
      return <ResidentsPage />;
    case 'pool':
      return <PoolPage />;
    case 'doctor':
      return <DoctorPage />;
    case 'missing':
      return (
        <div className="page">
          <h1>There is no such page</h1>
          <p>
            Go to the <Link to="/">inbox</Link> or to the <Link to="/runs">runs</Link>.
          </p>
        </div>
      );
  }
}

interface HeaderProps {
  readonly route: Route;
  readonly project: string;
  onHelp(): void;
}

function Header({ route, project, onHelp }: HeaderProps) {
  const { signOut, session } = useApp();
  const [theme, changeTheme] = useTheme();
  const waiting = useWaitingCount();
  const page = route.page === 'run' ? 'runs' : route.page;
  return (
    <header className="header">
      <Link to="/" className="brand">
        Caisson
      </Link>
      {project === '' ? null : (
        <span className="faint cut project" title={project}>
          {project}
        </span>
      )}
      <nav aria-label="Pages">
        {PAGES.map((entry) => (
          <Link key={entry.path} to={entry.path} aria-current={entry.page === page ? 'page' : undefined}>
            {entry.title}
            {entry.page === 'inbox' && waiting > 0 ? (
              <span className="count">
                {waiting}
                <span className="visually-hidden"> waiting</span>
              </span>
            ) : null}
          </Link>
        ))}
      </nav>
      <div className="header-tools">
        {session.scopes.some((scope) => scope !== 'read') ? null : <span className="faint">read only</span>}
        <button type="button" className="quiet" onClick={changeTheme} aria-label={`Theme: ${theme}. Change`}>
          {theme === 'auto' ? '◐' : theme === 'light' ? '☀' : '☾'}
        </button>
        <button type="button" className="quiet" onClick={onHelp} aria-label="Keys and settings">
          ?
        </button>
        <button type="button" className="quiet" onClick={signOut}>
          Sign out
        </button>
      </div>
    </header>
  );
}

function ConnectionBar() {
  const state = useFeedState();
  if (state === 'live' || state === 'stopped') return null;
  return (
    <div className="connection" role="status">
      {state === 'connecting'
        ? 'Connecting…'
        : 'The host does not answer. Reconnecting; what you see may be old.'}
    </div>
  );
}

/** `g` and a letter go to a page, `?` shows all keys. */
function useGoKeys(openHelp: () => void): void {
  const pressedAt = useRef(0);
  useKeys((key, event) => {
    const isSecond = event.timeStamp - pressedAt.current < 1200 && pressedAt.current > 0;
    pressedAt.current = key === 'g' ? event.timeStamp : 0;
    if (key === '?') openHelp();
    const page = isSecond ? PAGES.find((entry) => entry.key === key) : undefined;
    if (page !== undefined) navigate(page.path);
    return key === 'g' || key === '?' || page !== undefined;
  });
}

function titleOf(route: Route): string {
  if (route.page === 'run') return `Run ${route.runId.slice(-8)}`;
  return PAGES.find(({ page }) => page === route.page)?.title ?? 'Not found';
}
