/** Apart, so that a project without schedules does not pay for it. */
export { Cron } from 'croner';
