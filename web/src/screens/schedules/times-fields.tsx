/** The fields that say when a schedule fires, for each kind of times. */

import { DAYS, KIND_WORDS, KINDS, type ScheduleDraft } from '../../model/schedule-form.ts';
import { Field, Segmented } from '../../ui/fields.tsx';

type Change = (part: Partial<ScheduleDraft>) => void;

export function TimesFields({
  draft,
  problems,
  onChange,
}: {
  readonly draft: ScheduleDraft;
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: Change;
}) {
  const { kind } = draft;
  const text = (name: 'cron' | 'every' | 'from' | 'monthdays', label: string, hint: string, at: string = name) => (
    <Field label={label} hint={hint} problem={problems[at]}>
      {(props) => (
        <input
          {...props}
          className={`input ${name === 'cron' ? 'mono' : ''}`}
          autoComplete="off"
          spellCheck={false}
          value={draft[name]}
          onChange={(event) => onChange({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
  const time = (
    <Field label="At" problem={problems[kind]}>
      {(props) => (
        <input
          {...props}
          className="input short"
          type="time"
          value={draft.time}
          onChange={(event) => onChange({ time: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <div className="stack">
      <Segmented
        label="How it repeats"
        options={KINDS.map((value) => ({ value, label: KIND_WORDS[value] }))}
        value={kind}
        onChange={(to) => onChange({ kind: to })}
      />
      {kind === 'weekly' && <Weekdays draft={draft} onChange={onChange} />}
      <div className="fields two">
        {kind === 'monthly' && text('monthdays', 'Days of the month', 'Such as 1,15, or last', 'monthly')}
        {(kind === 'daily' || kind === 'weekly' || kind === 'monthly') && time}
        {kind === 'cron' && text('cron', 'Cron expression', 'Five fields, or six with the second first')}
        {kind === 'every' && text('every', 'Every', 'A time such as 30s, 15m or 1d')}
        {kind === 'every' && text('from', 'Counted from (optional)', 'An instant; empty: the beginning of 1970 in UTC')}
        {kind === 'at' && (
          <Field label="At" problem={problems.at} hint="Once, on the clocks of the zone">
            {(props) => (
              <input
                {...props}
                className="input"
                // An instant with its zone, as a schedule has it that was read, is a text.
                type={/^$|^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(draft.at) ? 'datetime-local' : 'text'}
                value={draft.at}
                onChange={(event) => onChange({ at: event.target.value })}
              />
            )}
          </Field>
        )}
        {kind !== 'every' && <Zone draft={draft} problem={problems.timezone} onChange={onChange} />}
      </div>
    </div>
  );
}

function Weekdays({ draft, onChange }: { readonly draft: ScheduleDraft; readonly onChange: Change }) {
  const { weekdays } = draft;
  return (
    <div className="segmented weekdays" role="group" aria-label="Days of the week">
      {DAYS.map((day) => (
        <button
          key={day}
          type="button"
          aria-pressed={weekdays.includes(day)}
          onClick={() =>
            onChange({ weekdays: weekdays.includes(day) ? weekdays.filter((one) => one !== day) : [...weekdays, day] })
          }
        >
          {day[0]?.toUpperCase()}
          {day.slice(1)}
        </button>
      ))}
    </div>
  );
}

function Zone({
  draft,
  problem,
  onChange,
}: {
  readonly draft: ScheduleDraft;
  readonly problem: string | undefined;
  readonly onChange: Change;
}) {
  return (
    <Field label="Time zone" problem={problem}>
      {(props) => (
        <>
          <input
            {...props}
            className="input"
            list="zones"
            autoComplete="off"
            spellCheck={false}
            value={draft.timezone}
            onChange={(event) => onChange({ timezone: event.target.value })}
          />
          <datalist id="zones">
            {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
