/** Desktop notifications: off until a person switches them on and the browser agrees. */
import { useState } from 'react';

const SETTING = 'caisson.notifications';

export interface NotificationSetting {
  readonly isOn: boolean;
  readonly isPossible: boolean;
  set(isOn: boolean): void;
}

export function useNotificationSetting(): NotificationSetting {
  const [isOn, setIsOn] = useState(areNotificationsOn);
  const set = (wanted: boolean) => {
    if (!wanted) return keep(false);
    setIsOn(true); // The box follows the click at once; a browser that refuses takes it back.
    void Notification.requestPermission().then((permission) => keep(permission === 'granted'));
  };
  const keep = (value: boolean) => {
    localStorage.setItem(SETTING, value ? 'on' : 'off');
    setIsOn(value);
  };
  return { isOn, isPossible: 'Notification' in window && Notification.permission !== 'denied', set };
}

/** One notification while the page is not looked at. The text is the host's, never the agent's. */
export function notifyWaiting(count: number): void {
  if (!areNotificationsOn() || document.visibilityState === 'visible') return;
  const notification = new Notification('Caisson', {
    body: count === 1 ? 'Something waits for you.' : `${count} things wait for you.`,
    tag: 'caisson-waiting',
  });
  notification.addEventListener('click', () => window.focus());
}

function areNotificationsOn(): boolean {
  const isAllowed = 'Notification' in window && Notification.permission === 'granted';
  return isAllowed && localStorage.getItem(SETTING) === 'on';
}
