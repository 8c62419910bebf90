import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOfProblem, newSchedule, problemText, scheduleDraft, timesOfDraft } from './schedule-form.ts';

test('each kind of times goes into the form and comes out as it was', () => {
  for (const times of [
    { daily: '09:30' },
    { weekly: 'mon,wed@09:30' },
    { monthly: '1,15@09:30' },
    { monthly: 'last@23:00' },
    { every: '15m' },
    { every: '1h', from: '2026-01-01T00:00:00Z' },
    { cron: '0 9 * * mon-fri' },
    { at: '2026-12-24T18:00:00.000Z' },
  ])
    assert.deepEqual(timesOfDraft(scheduleDraft(times, 'UTC')), times);
});

test('ranges and numbers of weekdays become single days, in the order of the week', () => {
  const weekly = (days: string) => scheduleDraft({ weekly: `${days}@08:00` }, 'UTC').weekdays;
  assert.deepEqual(weekly('wed,mon'), ['mon', 'wed']);
  assert.deepEqual(weekly('sat-mon'), ['mon', 'sat', 'sun']);
  assert.deepEqual(weekly('0,5'), ['fri', 'sun']);
});

test('what is not written yet is not asked for', () => {
  const draft = newSchedule('UTC');
  assert.equal(timesOfDraft({ ...draft, kind: 'weekly', weekdays: [] }), undefined);
  assert.equal(timesOfDraft({ ...draft, kind: 'at' }), undefined);
  assert.equal(timesOfDraft({ ...draft, time: '' }), undefined);
  assert.equal(timesOfDraft({ ...draft, kind: 'cron', cron: '  ' }), undefined);
});

test('an error of the node stands at its field', () => {
  assert.equal(fieldOfProblem('schedule', 'weekly'), 'weekly');
  assert.equal(fieldOfProblem('schedule name', 'weekly'), 'name');
  assert.equal(fieldOfProblem('queue name', 'weekly'), 'queue');
  assert.equal(fieldOfProblem('cron', 'cron'), 'cron');
  assert.equal(fieldOfProblem('timezone', 'daily'), 'timezone');
  assert.equal(fieldOfProblem('placement.requires[0]', 'daily'), 'requires');
  assert.equal(fieldOfProblem('permissions', 'daily'), undefined);
  assert.equal(
    problemText({ problem: 'it has 61 minutes' }, 'The cron is not valid: it has 61 minutes.'),
    'it has 61 minutes',
  );
});
