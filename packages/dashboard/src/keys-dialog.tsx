import { useEffect, useRef } from 'react';
import { setKeysOn, useKeysSetting } from './ui/keys.ts';
import { useNotificationSetting } from './inbox/notifications.ts';

const KEYS: readonly (readonly [string, string])[] = [
  ['g i', 'Inbox'],
  ['g r', 'Runs'],
  ['g c', 'Costs'],
  ['g s', 'Residents'],
  ['g p', 'Pool'],
  ['g d', 'Doctor'],
  ['j, k', 'next, previous'],
  ['Enter, o', 'open what is chosen'],
  ['a', 'allow the chosen call (inbox)'],
  ['d', 'deny the chosen call, or hide the chosen entry (inbox)'],
  ['x', 'mark the chosen run (runs)'],
  ['/', 'search'],
  ['1 to 5', 'parts of a run'],
  ['?', 'this list'],
];

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const areOn = useKeysSetting();
  const notifications = useNotificationSetting();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys and settings</h2>
      <dl className="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input type="checkbox" checked={areOn} onChange={(event) => setKeysOn(event.target.checked)} /> Use
        these keys
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={notifications.isOn}
          disabled={!notifications.isPossible}
          onChange={(event) => notifications.set(event.target.checked)}
        />{' '}
        Notify me on the desktop when something waits for me
      </label>
      <div className="actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
