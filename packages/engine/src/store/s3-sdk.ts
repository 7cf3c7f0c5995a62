/** The parts of the SDK we use, as our own module: bundled, a dynamic import of CommonJS has no named exports. */
export {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
