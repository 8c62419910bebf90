import { byteSize, duration, filled } from '../parse.ts';
import type { OptionTable } from './option.ts';

/** Where files of tasks lie, and how much room they have. */
export const ARTIFACT_OPTIONS = {
  artifactStore: {
    doc: 'Where files of tasks lie: a folder, which only processes of this host reach, or a bucket, s3://BUCKET/PREFIX',
    value: 'URL',
    parse: filled,
    env: ['LEASEHOLD_ARTIFACT_STORE'],
    fallback: () => undefined,
    fallbackDoc: 'FILE.artifacts beside a SQLite file, DIR/artifacts on Postgres',
  },
  artifactQuota: {
    doc: 'What all files of tasks may take, such as 50GiB',
    value: 'SIZE',
    parse: byteSize,
    env: ['LEASEHOLD_ARTIFACT_QUOTA'],
    fallback: () => undefined,
    fallbackDoc: 'no bound',
  },
  artifactTaskQuota: {
    doc: 'What the files of one task may take, such as 2GiB',
    value: 'SIZE',
    parse: byteSize,
    env: ['LEASEHOLD_ARTIFACT_TASK_QUOTA'],
    fallback: () => undefined,
    fallbackDoc: 'no bound',
  },
  artifactRetention: {
    doc: 'How long files of tasks are kept after the end of their task',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_ARTIFACT_RETENTION'],
    fallback: () => undefined,
    fallbackDoc: 'as long as finished tasks',
  },
} satisfies OptionTable;
