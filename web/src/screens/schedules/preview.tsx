/** The next five fire times of what is written, as the node computes them. */

import { useEffect, useState } from 'react';
import { client, errorText } from '../../api.ts';
import { fieldOfProblem, problemText, type ScheduleDraft, timesOfDraft } from '../../model/schedule-form.ts';
import { Time } from '../../ui/times.tsx';

const PAUSE_MS = 250;

export interface Preview {
  readonly next: readonly number[];
  readonly problems: Readonly<Record<string, string>>;
}

const NONE: Preview = { next: [], problems: {} };

/** Asked for when somebody has stopped typing. */
export function usePreview(draft: ScheduleDraft): Preview {
  const [preview, setPreview] = useState(NONE);
  const times = timesOfDraft(draft);
  const { kind, timezone } = draft;
  const asked = times === undefined ? undefined : JSON.stringify({ ...times, timezone: timezone.trim() || 'UTC' });
  useEffect(() => {
    if (asked === undefined) {
      setPreview(NONE);
      return;
    }
    const end = new AbortController();
    const timer = setTimeout(() => {
      client.call('previewSchedule', { query: JSON.parse(asked) as object, signal: end.signal }).then(
        ({ next }) => setPreview({ next, problems: next.length === 0 ? { [kind]: 'it lies in the past' } : {} }),
        (error: unknown) => {
          if (end.signal.aborted) return;
          const { details } = error as { readonly details?: { readonly field?: unknown } };
          const field = fieldOfProblem(details?.field, kind) ?? kind;
          setPreview({ next: [], problems: { [field]: problemText(details, errorText(error)) } });
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [asked, kind]);
  return preview;
}

export function NextTimes({ next, timezone }: { readonly next: readonly number[]; readonly timezone: string }) {
  return (
    <section className="next-times" aria-label="Next fire times" aria-live="polite">
      <h3>Next</h3>
      {next.length === 0 ? (
        <p className="quiet">Fire times appear here as you write.</p>
      ) : (
        <ol>
          {next.map((at) => (
            <li key={at}>
              <span>{inZone(at, timezone)}</span>{' '}
              <span className="quiet">
                <Time at={at} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/** On the clocks of the zone: `Thu 24 Dec 2026, 18:00`. */
function inZone(at: number, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone: timeZone.trim() || 'UTC',
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      ...(at % 60_000 === 0 ? {} : { second: '2-digit' }),
    }).format(at);
  } catch {
    return new Date(at).toISOString();
  }
}
