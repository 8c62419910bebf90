/** The commits of a run, the way the node tells them. */

import { useState } from 'react';
import type { Commit } from '../../../model/changes/diff.ts';
import { plural } from '../../../model/text.ts';
import { Button } from '../../../ui/buttons.tsx';
import { Time } from '../../../ui/times.tsx';
import { Counts } from './counts.tsx';

const FIRST = 5;

export function Commits({ of: commits }: { readonly of: readonly Commit[] }) {
  const [all, setAll] = useState(false);
  if (commits.length === 0) return null;
  const shown = all ? commits : commits.slice(0, FIRST);
  return (
    <>
      <ul className="change-commits" aria-label="Commits">
        {shown.map((commit, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; a hash that somebody says may come twice.
          <li key={i}>
            <code title={commit.sha}>{commit.sha.slice(0, 8)}</code>
            <span className="stack tightest">
              <bdi className="break">{commit.subject}</bdi>
              {commit.more !== '' && <bdi className="quiet break change-message">{commit.more}</bdi>}
              <span className="quiet break">
                {commit.author}
                {commit.at !== undefined && (
                  <>
                    {' · '}
                    <Time at={commit.at} />
                  </>
                )}
                {` · ${plural(commit.files, 'file')}`}
              </span>
            </span>
            <Counts of={commit} />
          </li>
        ))}
      </ul>
      {!all && commits.length > FIRST && (
        <div className="panel-body change-line">
          <Button small kind="plain" onClick={() => setAll(true)}>
            {plural(commits.length - FIRST, 'more commit')}
          </Button>
        </div>
      )}
    </>
  );
}
