import type { BusTopic } from '@caisson/protocol';

import type { Registration, Route } from './routes.ts';

type Report = (topic: BusTopic, error: unknown) => void;

/** Calls every listener of the route; failures go to `report` and nowhere else (E2). */
export function createDeliver(report: Report): (route: Route, payload: unknown) => void {
  return (route, payload) => {
    const { registrations } = route;
    let i = 0;
    while (i < registrations.length) {
      try {
        for (; i < registrations.length; i++) {
          const registration = registrations[i] as Registration;
          if (!registration.isActive) continue; // E4
          const { listener } = registration;
          const returned = listener(payload);
          if (returned !== undefined) watchPromise(returned, route.topic, report);
        }
      } catch (error) {
        i += 1;
        report(route.topic, error); // the loop continues after the one that threw
      }
    }
  };
}

function watchPromise(returned: unknown, topic: BusTopic, report: Report): void {
  if (typeof returned !== 'object' || returned === null || !('then' in returned)) return;
  Promise.resolve(returned).then(undefined, (error: unknown) => report(topic, error));
}
