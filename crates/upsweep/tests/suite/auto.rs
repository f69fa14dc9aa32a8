//! The device that was left to the library: where calls go, and that they come back with the same bits.

use std::sync::Arc;

use upsweep::profile::{Crossing, FromHost, Traffic};
use upsweep::{
    Array, Device, Dtype, Fused, Max, Operator, Profile, Reason, Reduce, ReducePlan, ReduceStream,
    Scan, Segments, Sum, View, argmax, cpu_name, exclusive_scan_into, inclusive_scan,
    inclusive_scan_in_place, mean, reduce, reduce_into, segmented_reduce, segmented_scan,
};
use upsweep_testing::{Input, for_each_gpu};

/// Bytes of which the CPU is said to be faster, and of which the GPU is.
const FEW: u64 = 1 << 12;
const MANY: u64 = 1 << 18;

/// A profile after which a GPU is faster from some point between the two on, beside this CPU.
fn profile(cpu: String) -> Option<Arc<Profile>> {
    let row = |bytes, gpu_us, cpu_us| Crossing { bytes, gpu_us, cpu_us };
    let rows = vec![row(FEW, 50.0, 1.0), row(MANY, 50.0, 100.0)];
    let from_host = Some(FromHost { cpu, reads: rows.clone(), copies: rows });
    Some(Arc::new(Profile { from_host, ..Profile::default() }))
}

fn own_cpu() -> String {
    cpu_name(Device::cpu().limits())
}

#[test]
fn arrays_of_the_host_go_where_it_was_measured_to_be_faster() {
    for_each_gpu(|tested| {
        let gpu = &tested.device;
        let auto = Device::auto_among(&[gpu.with_profile(profile(own_cpu()))]);
        assert_eq!(auto.id(), "auto");
        for traffic in [Traffic::Reads, Traffic::Copies] {
            let place = |bytes| auto.placement(traffic, bytes, &[]);
            assert_eq!(place(0).device.id(), "cpu");
            assert_eq!(place(FEW).device.id(), "cpu");
            assert_eq!(place(MANY).device.id(), gpu.id());
            assert_eq!(place(u64::MAX).device.id(), gpu.id());
            let said = place(MANY).to_string();
            assert!(said.contains("100.0 µs on the CPU and 50.0 µs on"), "{said}");
        }
        let items: Vec<u32> = Input::Mixed.array(1, MANY as usize / 4);
        let cpu = Device::cpu();
        for items in [&items[..], &items[..FEW as usize / 4], &[]] {
            assert_eq!(reduce(&auto, items, Sum), reduce(&cpu, items, Sum));
            assert_eq!(argmax(&auto, items), argmax(&cpu, items));
            let scanned = |device| inclusive_scan(device, items, Max)?.into_vec();
            assert_eq!(scanned(&auto), scanned(&cpu));
            let mut plan =
                ReducePlan::<u32, u32, _>::new(&auto, items.len(), Reduce::new(Sum)).expect("room");
            assert_eq!(plan.run(items), reduce(&cpu, items, Sum));
        }
    });
}

#[test]
fn what_a_gpu_cannot_do_stays() {
    /// An operator of which there is no text for a GPU.
    #[derive(Clone, Copy)]
    struct Untold;
    impl Operator<u32> for Untold {
        const NAME: &'static str = "untold";
        const COMMUTATIVE: bool = true;
        fn identity(&self) -> u32 {
            0
        }
        fn combine(&self, left: u32, right: u32) -> u32 {
            left ^ right
        }
    }
    let items: Vec<u32> = Input::Mixed.array(1, MANY as usize / 4);
    let doubles = vec![1.0f64; items.len()];
    for_each_gpu(|tested| {
        let gpu = &tested.device;
        let auto = Device::auto_among(&[gpu.with_profile(profile(own_cpu()))]);
        assert_eq!(reduce(&auto, &items, Untold), reduce(&Device::cpu(), &items, Untold));
        let scanned = |device| inclusive_scan(device, &items, Untold)?.into_vec();
        assert_eq!(scanned(&auto), scanned(&Device::cpu()));
        assert_eq!(reduce(&auto, &doubles, Sum), Ok(items.len() as f64));
        assert_eq!(argmax(&auto, &doubles), Ok(Some(0)));
        let placement = auto.placement(Traffic::Reads, MANY, &[Dtype::F64]);
        if gpu.limits().float64 {
            assert_eq!(placement.device.id(), gpu.id());
        } else {
            assert_eq!(placement.device.id(), "cpu");
            assert!(placement.to_string().contains("cannot do this"), "{placement}");
        }
    });
}

#[test]
fn nothing_is_guessed() {
    for_each_gpu(|tested| {
        let gpu = &tested.device;
        let unknown = [
            gpu.with_profile(None),
            gpu.with_profile(Some(Arc::default())),
            gpu.with_profile(profile("another CPU".to_owned())),
        ];
        let placement = Device::auto_among(&unknown).placement(Traffic::Reads, MANY, &[Dtype::U32]);
        assert_eq!((placement.device.id(), &placement.reason), ("cpu", &Reason::Unknown));
        assert!(placement.to_string().contains("upsweep tune"), "{placement}");
        let asked = gpu.placement(Traffic::Reads, 1, &[]);
        assert_eq!((asked.device.id(), asked.reason), (gpu.id(), Reason::Asked));
    });
    let alone = Device::auto_among(&[]);
    assert_eq!(reduce(&alone, &[1u8, 2], Sum), Ok(3));
    assert_eq!(Device::open("auto").map(|device| device.id().to_owned()), Ok("auto".to_owned()));
}

#[test]
fn arrays_of_a_gpu_are_worked_on_there() {
    for_each_gpu(|tested| {
        let gpu = &tested.device;
        let auto = Device::auto_among(&[]);
        let host: Vec<u32> = Input::Mixed.array(2, 5000);
        let cpu = Device::cpu();
        let there = Array::from_slice(gpu, &host).expect("room");
        assert_eq!(reduce(&auto, &there, Sum), reduce(&cpu, &host, Sum));
        assert_eq!(argmax(&auto, &there), argmax(&cpu, &host));
        if gpu.limits().float64 {
            assert_eq!(mean(&auto, &there), mean(&cpu, &host));
        }
        let expected = inclusive_scan(&cpu, &host, Sum).expect("a CPU").into_vec();
        let mut output = inclusive_scan(&auto, &there, Sum).expect("a scan");
        assert!(output.as_slice().is_none(), "it is on the GPU");
        assert_eq!(output.to_vec(), expected);
        exclusive_scan_into(&auto, &there, &mut output, Max).expect("a scan");
        let mut in_place = Array::from_slice(gpu, &host).expect("room");
        inclusive_scan_in_place(&auto, &mut in_place, Sum).expect("a scan");
        assert_eq!(in_place.to_vec(), expected);
        let mut total = Array::filled(gpu, 1, 0u32).expect("room");
        reduce_into(&auto, &host, &mut total, Sum).expect("a result on the GPU");
        assert_eq!(total.to_vec(), reduce(&cpu, &host, Sum).map(|total| vec![total]));

        let reversed = |view: View<'_, u32>, device: &Device| {
            let scanned = view.reversed().inclusive_scan(device, Sum)?.into_vec()?;
            Ok::<_, upsweep::Error>((scanned, view.reversed().reduce(device, Max)?))
        };
        assert_eq!(reversed(there.view(), &auto), reversed(View::from(&host), &cpu));
        let offsets = [0u32, 10, 10, 5000];
        let sums = |items: View<'_, u32>, device: &Device| {
            let sums = segmented_reduce(device, items, &offsets, Sum)?.into_vec()?;
            let segments = Segments::by_offsets(&offsets);
            let problem = Scan::exclusive(Sum);
            Ok::<_, upsweep::Error>((
                sums,
                segmented_scan(device, items, &segments, &problem)?.into_vec()?,
            ))
        };
        assert_eq!(sums(there.view(), &auto), sums(View::from(&host), &cpu));
    });
}

#[test]
fn arrays_and_streams_of_it_are_the_hosts() {
    let auto = Device::auto();
    let array = Array::from_slice(&auto, &[1u32, 2, 3]).expect("room");
    assert_eq!(array.as_slice(), Some(&[1, 2, 3][..]));
    let mut stream = ReduceStream::<u32, u32, _>::new(&auto, Reduce::new(Sum)).expect("room");
    stream.push(&array).expect("a chunk");
    assert_eq!(stream.finish(), 6);
    assert_eq!(auto.limits(), Device::cpu().limits());
    assert!(auto.wait().is_ok());
}
