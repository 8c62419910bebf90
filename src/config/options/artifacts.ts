import { byteSize, commaList, duration, filled, networkPlace } from '../parse.ts';
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
  artifactPatience: {
    doc: 'How long a worker tries to store or fetch a file while its place is out of reach; then the attempt fails with ARTIFACT_FAILED',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_ARTIFACT_PATIENCE'],
    fallback: () => 300_000,
    fallbackDoc: '5m',
  },
  artifactHosts: {
    doc: 'The only hosts beside its node that a joined worker sends files to and fetches them from; a comma between two',
    flag: 'artifact-host',
    value: 'HOSTS',
    many: true,
    parse: commaList(networkPlace),
    env: ['LEASEHOLD_ARTIFACT_HOSTS'],
    fallback: () => [],
    fallbackDoc: 'whichever the node says, by https',
  },
} satisfies OptionTable;
