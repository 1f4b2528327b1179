package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// storeBar is the most bytes on disk per job: 1.5 × (payload + id + 70).
	storeBar = 1.5 * (payloadLen + idLen + 70)
	// endTimeout bounds how long a server takes to end when it is asked to.
	endTimeout = 30 * time.Second
)

// storeCase measures what the jobs take on disk once everything is written and
// merged: after the load the server comes to rest, ends as asked, and its folder
// is measured: of dqd the states of the shards, of Redis its append-only file.
func storeCase(bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		names := []string{dqdServer, redisAlways}
		samples, err := b.takeTurns(ctx, names, func(ctx context.Context, _ int, name string) (sample, error) {
			srv, err := b.launcher.start(ctx, name)
			if err != nil {
				return sample{}, err
			}
			defer srv.stop()
			if err := b.load(ctx, srv, 0, b.loaded); err != nil {
				return sample{}, err
			}
			disk, err := srv.diskPerJob(ctx)
			return sample{DiskPerJob: disk}, err
		})
		if err != nil {
			return nil, err
		}
		return newResult(names, samples, bars), nil
	}
}

// diskPerJob ends the server, which is at rest, and returns the bytes on disk for each
// job that it holds.
func (s *server) diskPerJob(ctx context.Context) (float64, error) {
	jobs, err := s.length(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.end(ctx); err != nil {
		return 0, err
	}
	bytes, err := folderBytes(s.words(s.dir+"/data/shard-*/state", s.dir+"/appendonlydir")[0])
	return float64(bytes) / float64(jobs), err
}

// end asks the server to end and waits until it has.
func (s *server) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("did not end within %v of SIGTERM%s", endTimeout, s.logTail())
	}
}

// folderBytes is the size of all files below the folders that match pattern.
func folderBytes(pattern string) (bytes int64, err error) {
	folders, err := filepath.Glob(pattern)
	if err == nil && len(folders) == 0 {
		err = fmt.Errorf("no folder %s", pattern)
	}
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			info, err := e.Info()
			if err == nil {
				bytes += info.Size()
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return bytes, nil
}
